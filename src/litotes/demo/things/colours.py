"""The picture-book palette: the named colours, their shades and the fixed colours of details."""

RGB = tuple[int, int, int]

COLOURS: dict[str, RGB] = {
    "red": (226, 46, 44),
    "blue": (46, 112, 222),
    "green": (68, 168, 72),
    "yellow": (252, 208, 48),
    "purple": (132, 72, 186),
    "pink": (252, 148, 192),
    "brown": (136, 88, 50),
    "white": (250, 248, 242),
}

INK: RGB = (40, 32, 48)
WHITE: RGB = (255, 255, 255)

FIXED: dict[str, RGB] = {
    "ink": INK,
    "paper": (255, 252, 240),
    "cream": (250, 228, 186),
    "dough": (226, 172, 108),
    "wood": (158, 108, 66),
    "leaf": (104, 176, 92),
    "glass": (190, 228, 244),
    "water": (110, 186, 236),
    "steel": (150, 156, 170),
    "rubber": (66, 62, 76),
    "gold": (255, 204, 84),
    "beak": (250, 156, 50),
    "flame": (255, 142, 40),
    "rose": (246, 150, 160),
    "coral": (226, 84, 76),
    "smoke": (226, 226, 232),
}


def mix(first: RGB, second: RGB, share: float) -> RGB:
    """Return the colour that lies the given share (0 to 1) of the way from the first to the second."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def deepened(colour: RGB) -> RGB:
    """Return a darker and fuller tone of the colour: never muddy, as mixing it with black would be."""
    red, green, blue = (round(224 * (value / 255) ** 1.5) for value in colour)
    return red, green, blue


def roles(colour: RGB) -> dict[str, RGB]:
    """Return every fill a drawing may ask for: the body colour, its shades and the fixed details."""
    return {
        **FIXED,
        "body": colour,
        "light": mix(colour, WHITE, 0.42),
        "shade": deepened(colour),
        "dark": mix(deepened(colour), INK, 0.4),
        "line": mix(colour, INK, 0.82),
    }
