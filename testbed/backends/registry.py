"""Every backend by the name a scenario uses, with the module that holds it. Imported only when used."""

BACKENDS: dict[str, str] = {
    "sim": "testbed.backends.sim",
}
"""Each module has `SUMMARY`, `missing()` (None, or one line on what to install) and `run_repetition(...)`."""
