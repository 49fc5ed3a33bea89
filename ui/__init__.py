"""What the pages share: the page frame, figures, and what they cache."""
