"""Mininet-WiFi: the same scenarios on its stations. It is not part of the project; the user installs it."""
