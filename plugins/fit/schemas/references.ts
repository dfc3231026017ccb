import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import { mergeAll } from './merge.ts'
import type { FitContext } from './fit-context.ts'
import { omitMembers } from './fit-context.ts'

const REFERENCE = new Set(['$ref', '$dynamicRef', '$recursiveRef'])

export function getReference(schema: JsonObject): unknown {
  return schema.$ref ?? schema.$dynamicRef ?? schema.$recursiveRef
}

/** Resolves a reference and merges its sibling keywords. An unresolvable or recursive reference accepts any value. */
export function followReference(
  schema: JsonObject,
  work: FitContext,
): { readonly schema: JsonObject; readonly name: string } {
  const reference = getReference(schema)
  const siblings = omitMembers(schema, REFERENCE)
  const name = typeof reference === 'string' ? reference : ''
  const target = findTarget(name, work.root)
  if (target === undefined) {
    work.addNote('replaced unresolvable references with schemas that accept anything')
    return { schema: siblings, name: '' }
  }
  if (work.openReferences.includes(name)) {
    work.addNote('cut recursive schemas')
    const { type } = target
    return { schema: type === undefined ? siblings : { type, ...siblings }, name: '' }
  }
  work.addNote('inlined references')
  return { schema: mergeSiblings(target, siblings, work), name }
}

function mergeSiblings(target: JsonObject, siblings: JsonObject, work: FitContext): JsonObject {
  if (Object.keys(siblings).length === 0) return target
  return Object.keys(siblings).every(key => TEXTS.has(key))
    ? { ...target, ...siblings }
    : mergeAll([target, siblings], work)
}

/** Annotations, which do not restrict values. */
const TEXTS: ReadonlySet<string> = new Set(['description', 'title', 'default', 'examples', 'deprecated', '$comment'])

/** Finds the schema of a local pointer or anchor; reads own members only. */
function findTarget(reference: string, root: JsonObject): JsonObject | undefined {
  if (reference === '#') return root
  if (reference.startsWith('#/')) return resolvePointer(reference.slice(2), root)
  return reference.startsWith('#') ? findAnchor(reference.slice(1), root) : undefined
}

function resolvePointer(pointer: string, root: JsonObject): JsonObject | undefined {
  let target: unknown = root
  for (const part of pointer.split('/').slice(0, 64)) {
    const key = decodePointerToken(part)
    if (Array.isArray(target)) target = (target as unknown[])[Number(key)]
    else if (isObject(target) && Object.hasOwn(target, key)) target = target[key]
    else return undefined
  }
  if (target === true) return {}
  return isObject(target) ? target : undefined
}

function decodePointerToken(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

function findAnchor(name: string, root: JsonObject): JsonObject | undefined {
  for (const key of ['$defs', 'definitions']) {
    const map = root[key]
    if (!isObject(map)) continue
    for (const one of Object.values(map))
      if (isObject(one) && (one.$anchor === name || one.$dynamicAnchor === name)) return one
  }
  return undefined
}
