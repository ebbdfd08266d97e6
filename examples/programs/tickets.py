from collections import Counter
from logs import read_entries
from tracker import create_ticket

log = await read_entries(day="2026-07-28")
errors = Counter(it["message"] for it in log["entries"] if it["level"] == "error")
for message, count in errors.items():
    await create_ticket(title=message, body=f"It occurred {count} times.")
return f"{len(errors)} tickets for {sum(errors.values())} errors"
