"""The async shell around the heart: keepers, walks, and all the catalogs of one principal."""
