"""The index of words over the tools of one principal, kept up to date with what is published."""
