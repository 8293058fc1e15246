"""What the tables of a store hold, read beside the store: the test's own look at the same rows."""

import attrs
from sqlalchemy import select

from keyturn.world import World
from keyturn_sql import rows, schema
from keyturn_sql.rows import Shape
from keyturn_sql.store import SqlStore


def world_of(store: SqlStore) -> World:
    """The whole world that the tables hold, the cases by their key."""
    with store.database.engine.connect() as connection:

        def every(table: str, shape: Shape[rows.Record], order: str) -> list[rows.Record]:
            columns = schema.metadata.tables[table].c
            found = connection.execute(select(*(columns[each] for each in shape.columns)).order_by(columns[order]))
            return [shape.record(tuple(each)) for each in found]

        return attrs.evolve(
            every("meta", rows.WORLD, "id")[0],
            cases=tuple(sorted(every("cases", rows.CASE, "case_id"), key=lambda case: case.key)),
            interactions=tuple(every("interactions", rows.INTERACTION, "position")),
            commands=tuple(every("commands", rows.COMMAND, "position")),
        )


def rows_of(store: SqlStore) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, as it is."""
    with store.database.engine.connect() as connection:
        return {
            name: [tuple(each) for each in connection.execute(select(table).order_by(*table.primary_key))]
            for name, table in schema.metadata.tables.items()
        }
