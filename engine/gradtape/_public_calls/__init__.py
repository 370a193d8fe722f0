"""Announces calls of public functions to those who listen, and only while they do."""
