"""The life of a call: admitted, confirmed, admitted again, forwarded, answered."""
