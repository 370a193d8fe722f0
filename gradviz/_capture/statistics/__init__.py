"""What an array holds: for the rules, for the view."""
