"""The embedded store on disk, safe with several processes on one file."""
