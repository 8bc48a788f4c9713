"""``python -m symscreen`` is the command line."""

from symscreen.cli import main

if __name__ == "__main__":
    main()
