"""Two servers of a task as services: `dpairs serve --role leader` and `--role helper`.

schema, store        the tables, and what both servers do with them
helper, leader       what each of them answers
intake               uploads, many in a transaction
workers              reports verified on all cores
driver               the leader's part that runs beside requests
keys, releases       a server's keys, and which tasks it has released
service, app         everything together; routes
"""
