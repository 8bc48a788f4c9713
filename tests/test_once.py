"""An attribute computed when it is first asked for."""

from threading import Barrier, Thread

from symscreen._cached_property import lockfree_cached_property


class Sum:
    """Counts how often it is computed."""

    def __init__(self, *terms, meet=None):
        self.terms, self.meet, self.times = terms, meet, 0

    @lockfree_cached_property
    def total(self):
        """Add the terms."""
        self.times += 1
        if self.meet is not None:
            self.meet.wait()
        return sum(self.terms)


def test_a_value_is_computed_once_for_each_instance():
    one, other = Sum(1, 2), Sum(3, 4)
    assert (one.total, one.total, other.total) == (3, 3, 7)
    assert (one.times, other.times) == (1, 1)


def test_threads_compute_the_values_of_different_instances_at_the_same_time():
    # each waits for the other inside the computation: a lock for the class would break the barrier
    meet = Barrier(2, timeout=30)
    both = Sum(1, 2, meet=meet), Sum(3, 4, meet=meet)
    threads = [Thread(target=lambda one=one: one.total) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not meet.broken
    assert [one.total for one in both] == [3, 7]


def test_the_class_answers_with_the_decorator_and_its_documentation():
    assert isinstance(Sum.total, lockfree_cached_property)
    assert Sum.total.__doc__ == "Add the terms."
