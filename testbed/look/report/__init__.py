"""`testbed report`: the verdicts, tables and charts of a run, a comparison or a study in one HTML file."""
