"""The page that plays a run: a map of the network and the space-time diagram below it."""
