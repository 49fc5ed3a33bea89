"""What every page stands in: its frame, the navigation, charts, controls, colours."""
