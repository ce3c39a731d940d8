"""Training some blocks of the towers as they are, and nothing else."""

from litotes.models.clip import ClipEncoder
from litotes.models.lora_settings import block_indices


def train_blocks(encoder: ClipEncoder, vision: str = "0-1", text: str = "0-2") -> list[str]:
    """Free these blocks of each tower, freeze everything else, and return the names of the weights that are trained.

    vision, text: blocks counted from 0 at the input, in the words of ``block_indices`` ("0-1", "top2", "all"). The
    defaults are VACSR's for data of other distributions: "the first two layers of the image encoder and the first
    three of the text encoder", read as the lowest ones (A22); "top2" and "top3" are the other reading.
    Errors: a word that is no such name or number; a block that the tower lacks; either leaves the encoder as it was.
    """
    towers = (encoder.clip.vision_model.encoder.layers, vision), (encoder.clip.text_model.encoder.layers, text)
    chosen = [blocks[i] for blocks, said in towers for i in block_indices(said, len(blocks))]
    encoder.requires_grad_(False)
    for block in chosen:
        block.requires_grad_(True)
    return [name for name, parameter in encoder.named_parameters() if parameter.requires_grad]
