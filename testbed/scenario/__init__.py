"""The scenario: everything that changes a result, checked and typed before anything starts."""
