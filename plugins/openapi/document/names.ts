import { createHash } from 'node:crypto'
import type { Operation } from './types.ts'

const HASH_LENGTH = 6

/**
 * Names of the tools: the id of each operation, or its method and path. They stay the same whatever else the document holds,
 * unless that has the same name.
 */
export function nameOperations(
  operations: readonly Operation[],
  maxLength: number,
): ReadonlyMap<Operation, string> {
  const plain = operations.map(operation => [operation, plainName(operation)] as const)
  const counts = new Map<string, number>()
  for (const [, name] of plain)
    counts.set(shortened(name, '', maxLength), (counts.get(shortened(name, '', maxLength)) ?? 0) + 1)
  return new Map(
    plain.map(([operation, name]) => {
      const isUnique = counts.get(shortened(name, '', maxLength)) === 1
      const hash = `_${hashOf(operation)}`
      return [operation, isUnique && name.length <= maxLength ? name : shortened(name, hash, maxLength)]
    }),
  )
}

function plainName({ id, method, path }: Operation): string {
  const own = id === undefined ? '' : cleaned(id)
  if (own !== '') return own
  const made = cleaned(`${method.toLowerCase()}${path}`)
  return made === '' ? 'operation' : made
}

/** Of a text what every client takes in a name. */
export function cleaned(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|(?<!_)_+$/g, '')
}

function shortened(name: string, end: string, maxLength: number): string {
  return name.slice(0, maxLength - end.length) + end
}

function hashOf({ method, path }: Operation): string {
  return createHash('sha256').update(`${method} ${path}`).digest('hex').slice(0, HASH_LENGTH)
}
