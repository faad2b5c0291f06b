"""What a person or another program sees of a report."""
