"""Finding tools by words, and by words and meaning together: pure, over snapshots."""
