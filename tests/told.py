"""What a step that sees a whole study is told, as the file that the workflow writes."""

from pathlib import Path

from cfeval.core.cli_options import StudyParams


def told(folder: Path, asked: StudyParams) -> Path:
    """The file, in a folder."""
    file = folder / f"{type(asked).__name__}.json"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(asked.as_json(), encoding="utf-8")
    return file
