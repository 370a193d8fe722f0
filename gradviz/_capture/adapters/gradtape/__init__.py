"""Graphs and runs of gradtape, as records."""
