"""Where logins are kept: encrypted files, or memory; the key may be in the system's keyring."""
