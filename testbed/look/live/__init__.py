"""Pages of what is going on: a run, or a study that is being filled, served on this machine while the command runs."""
