"""What whole servers are called by those who look for one.

A table of our own, written from general knowledge, beside the synonyms of what tools do: who looks
for a server names a trade or a product, and its description may name another part of the same.
"""

from typing import Final

KINDS: Final = """
inventory stock warehouse supplier goods | crm customer client lead sale | erp accounting ledger
bookkeeping finance | hr employee staff payroll personnel | helpdesk support ticket issue | mail
email inbox mailbox letter | chat messenger messaging slack teams | calendar schedule appointment
meeting | storage bucket file drive blob | payment billing checkout invoice | observability
monitoring metric log telemetry | repository git github gitlab code | database sql postgres mysql
sqlite table | docs wiki notes knowledge page | ci deploy pipeline build | analytics dashboard
report statistics bi | browser web page site | maps route place geocode navigation | shipping
parcel delivery logistics courier | shop store ecommerce catalog cart | cloud hosting server vm |
secret vault password credential | cms blog website publish | translation language dictionary |
task todo ticket project kanban | survey form questionnaire | contact addressbook people directory
| video stream media | music audio song | news headline article | travel flight hotel trip booking
| health medical patient clinic | law legal contract | school course learning | sensor iot device
smarthome | social twitter facebook instagram linkedin
"""
"""Groups between bars; what a word means beside others is not passed on from group to group."""

_DEEDS: Final = """
add build change check clear compose copy create delete discover display drop edit enumerate fetch
find generate get insert launch list load lookup make modify move new obtain open produce put query
read remove retrieve run search send show start update view write
"""
DEEDS: Final = frozenset(_DEEDS.split())
"""What tools of any server do: another word for it says nothing about which server is meant."""
