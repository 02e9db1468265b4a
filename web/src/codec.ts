import { OutboxError } from './errors.js'
import { storable, storedFields, type Row } from './rows.js'
import type { Codec } from './types.js'

/** How the rows of a Collection are stored: as they are, or as its codec has them. */
export class RowCodec {
  constructor(
    readonly collection: string,
    readonly codec?: Codec<any>,
  ) {}

  /** A whole row as it is stored: a copy. Throws `not-storable`. */
  encode(row: object): Row {
    if (!this.codec) return storable(this.collection, row)
    return storable(this.collection, this.#encoded(storedFields(row)))
  }

  /** The changed fields of a row as they are stored. */
  encodeChanges(row: object, changes: Row): Row {
    if (!this.codec) return storable(this.collection, changes)
    const encoded = this.encode(row)
    const missing = Object.keys(changes).find((name) => changes[name] !== undefined && !Object.hasOwn(encoded, name))
    if (missing !== undefined) {
      throw new OutboxError('not-storable', `${this.collection}: what codec.encode returns has no field "${missing}"; a codec changes values, and keeps the names of the fields`)
    }
    return fields(encoded, Object.keys(changes))
  }

  /** A stored row as the app knows it. Throws `invalid` if the codec does not fit it any more. */
  decode(stored: Row): Row {
    if (!this.codec) return stored
    try {
      return this.codec.decode(stored) as Row
    } catch (cause) {
      throw new OutboxError('invalid', `${this.collection}: codec.decode throws for a stored row (${String(cause)}); it is kept, and waits for code that fits`, { cause })
    }
  }

  /** Stored changes of a stored row as the app knows them. */
  decodeChanges(base: Row | undefined, changes: Row): Row {
    return this.codec ? fields(this.decode({ ...base, ...changes }), Object.keys(changes)) : changes
  }

  /** A stored write as the app knows it: its `base` and its `changes`, which are a whole row for an insert. */
  decodeWrite({ op, base, changes }: { op: string; base?: Row; changes?: Row }): { base?: Row; changes?: Row } {
    return {
      ...(base && { base: this.decode(base) }),
      ...(changes && { changes: op === 'insert' ? this.decode(changes) : this.decodeChanges(base, changes) }),
    }
  }

  #encoded(row: Row): object {
    try {
      return this.codec?.encode(row) as object
    } catch (cause) {
      throw new OutboxError('not-storable', `${this.collection}: codec.encode throws (${String(cause)})`, { cause })
    }
  }
}

/** Some fields of a row; one that it does not have is `undefined`. */
function fields(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name]]))
}
