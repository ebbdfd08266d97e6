"""The pure rooms: decisions about catalogs. No I/O, no clock, no randomness, standard library only."""
