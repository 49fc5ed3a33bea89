"""The app: a room per page, `shell` that all stand in, `library` that all share. Nothing here computes science."""
