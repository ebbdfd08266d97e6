"""`toolcrib show`: one definition in full."""

from toolcrib.cli.exits import Exit
from toolcrib.cli.exposed import find, kind_of
from toolcrib.cli.item_details import ItemDetails, item_view
from toolcrib.cli.opening import Source, opened, read_all
from toolcrib.cli.output import Output


async def show(source: Source, output: Output, name: str, kind_name: str) -> Exit:
    """Shows the item of that exposed name."""
    kind = kind_of(kind_name)
    async with opened(source, output) as open_:
        readings = await read_all(open_, source, output, kind)
        original = find(open_.settings, readings, kind, name)
        reading = next(each for each in readings if each.server == original.server)
        details = ItemDetails(
            server=original.server,
            name=name,
            item=original.item,
            generation=reading.generation,
            fresh=reading.fresh,
            age=reading.age,
        )
        output.show(item_view(details))
        return Exit.FINE
