"""How good a search is: tasks whose tools are known, metrics, and what chance makes of them."""
