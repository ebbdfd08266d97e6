import re
from files import list_directory, read_text_file
from toolcrib import map_limit


async def missing(name: str) -> list[str]:
    read = await read_text_file(path=name)
    return [line for line in read["content"].splitlines() if "missing" in line]


listed = await list_directory(path=".")
names = re.findall(r"\[FILE\] (\S+)", listed["content"])
found = [line for lines in await map_limit(missing, names, 4) for line in lines]
print(len(names), "files were read")
return found
