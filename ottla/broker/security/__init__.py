"""Which client may do what: principals, the authorizer, and where it is asked."""
