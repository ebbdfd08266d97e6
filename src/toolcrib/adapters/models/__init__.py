"""Small language models behind the two APIs that most of them are served with."""
