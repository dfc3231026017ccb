import type { ASTNode } from '@marcbachmann/cel-js'

const NOTHING: ReadonlySet<string> = new Set()

/** Arguments that are there wherever `node` is true, or false. */
export function guardsOf(node: ASTNode, isTrue: boolean): ReadonlySet<string> {
  if (node.op === '!_') return guardsOf(node.args, !isTrue)
  const parts = (node.op === '&&' && isTrue) || (node.op === '||' && !isTrue) ? node.args : undefined
  if (parts !== undefined) return union(guardsOf(parts[0], isTrue), guardsOf(parts[1], isTrue))
  return isTrue ? guardsWhere(node) : NOTHING
}

/** The same for a condition that is true. */
function guardsWhere(node: ASTNode): ReadonlySet<string> {
  if (node.op === 'call' && node.args[0] === 'has') return new Set(argumentIn(node.args[1][0]))
  if (node.op === 'in' && isArgs(node.args[1]))
    return node.args[0].op === 'value' ? new Set([String(node.args[0].args)]) : NOTHING
  return isAboutName(node) ? new Set(['*']) : NOTHING
}

function isArgs(node: ASTNode): boolean {
  return node.op === 'id' && node.args === 'args'
}

const NAMES: ReadonlySet<string> = new Set([
  'tool.name',
  'tool.original',
  'prompt.name',
  'prompt.original',
  'resource.uri',
  'resource.original',
])

/** Tells whether a condition is about the name of what is called alone: then all others are not asked for arguments. */
function isAboutName(node: ASTNode): boolean {
  const names = fieldsRead(node)
  return names.size > 0 && [...names].every(name => NAMES.has(name))
}

function fieldsRead(node: ASTNode, found = new Set<string>()): Set<string> {
  if (node.op === '.' && node.args[0].op === 'id') return found.add(`${node.args[0].args}.${node.args[1]}`)
  if (node.op === 'id') return found.add(node.args)
  for (const child of childrenOf(node)) fieldsRead(child, found)
  return found
}

function argumentIn(node: ASTNode | undefined): string[] {
  if (node?.op !== '.' && node?.op !== '.?') return []
  const [owner, field] = node.args
  return owner.op === 'id' && owner.args === 'args' ? [field] : argumentIn(owner)
}

export function union(one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> {
  return other.size === 0 ? one : new Set([...one, ...other])
}

/** The expressions that one is made of. */
export function childrenOf(node: ASTNode): ASTNode[] {
  const found: ASTNode[] = []
  const add = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(add)
    else if (isNode(value)) found.push(value)
  }
  if (node.op !== 'value' && node.op !== 'id') add(node.args)
  return found
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value
}
