"""The rooms of a screen put together: what the verbs and functions of symscreen do."""
