"""Which other attributes an attribute is told from, where a model compares descriptions of a part."""

_FAMILIES = (
    ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray"),
    ("wooden", "metal", "plastic", "glass", "stone", "leather", "paper"),
    ("round", "square", "triangular", "rectangular"),
    ("small", "large"),
    ("open", "closed"),
    ("wet", "dry"),
    ("old", "young"),
    ("empty", "full"),
)
_SAME = {"grey": "gray", "violet": "purple", "wood": "wooden", "metallic": "metal", "big": "large", "circular": "round"}


def alternatives(attribute: str) -> tuple[str, ...]:
    """The other attributes of its kind; empty where the attribute is of no kind that is listed."""
    name = attribute.strip().lower()
    name = _SAME.get(name, name)
    family = next((family for family in _FAMILIES if name in family), ())
    return tuple(other for other in family if other != name)
