"""Studies: a base scenario and axes along which it is varied, run into a store of results."""
