import type { ASTNode } from '@marcbachmann/cel-js'
import { suggestName } from '../../src/plugin.ts'
import type { SubjectKind, Variable } from './facts.ts'
import { FIELDS, LISTED, VARIABLES } from './facts.ts'

const NOTHING: ReadonlySet<string> = new Set()

/** Arguments that are there wherever `node` is true, or false. */
function guardsOf(node: ASTNode, isTrue: boolean): ReadonlySet<string> {
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

function union(one: ReadonlySet<string>, other: ReadonlySet<string>): ReadonlySet<string> {
  return other.size === 0 ? one : new Set([...one, ...other])
}

/** The expressions that one is made of. */
function childrenOf(node: ASTNode): ASTNode[] {
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

/** Something that an expression must not have, with its place in the text. */
export interface Mistake {
  readonly message: string
  readonly hint?: string | undefined
  readonly at?: number | undefined
}

/** Facts about an expression that are known from its text alone. */
export interface Analysis {
  readonly reads: ReadonlySet<Variable>
  /** Kinds of things that it is about; undefined for everything. */
  readonly kinds: ReadonlySet<SubjectKind> | undefined
  /** True if its value is the same for every call of one caller, so that it decides on lists too. */
  readonly isListable: boolean
  /** Argument that is read although other tools may not have it, if any. */
  readonly bareArgument: string | undefined
  /** True if it goes over the items of something. */
  readonly loops: boolean
  /** Weight in characters of what each item is compared with. */
  readonly perItem: 'little' | 'headers' | 'args'
  /** Fields of `principal` that become a part of a path. */
  readonly inPaths: readonly string[]
}

/** Functions by name, with what they may be called on. All others are refused. */
const FUNCTIONS: ReadonlySet<string> = new Set(['has', 'size', 'int', 'uint', 'double', 'string', 'bool'])
const CLOCK: readonly string[] = [
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getFullYear',
  'getHours',
  'getMilliseconds',
  'getMinutes',
  'getMonth',
  'getSeconds',
]
const METHODS: ReadonlySet<string> = new Set([
  'startsWith',
  'endsWith',
  'contains',
  'size',
  'lowerAscii',
  'upperAscii',
  'trim',
  'indexOf',
  'lastIndexOf',
  'substring',
  'hasValue',
  'orValue',
  'or',
  'value',
  're',
  'within',
  'host',
  'glob',
  'size_bytes',
  ...CLOCK,
])
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Functions whose time grows with the product of both texts. */
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf'])
/** Functions of a text and a constant, which is prepared when the configuration is loaded. */
const PREPARED: ReadonlySet<string> = new Set(['re', 'glob'])
/** Variables whose texts may be long. */
const LONG: ReadonlySet<string> = new Set(['request', 'principal', 'resource', 'tool'])
const CONSTANT: ReadonlySet<string> = new Set(['timestamp', 'duration'])

/** Names that a loop gives to its items, and whether they are parts of the arguments. */
type Scope = ReadonlyMap<string, boolean>

/** Place in an expression. */
interface ExpressionScope {
  readonly scope: Scope
  readonly inLoop: boolean
  /** Arguments that are known to be there; `*` for all, as where the tool is named. */
  readonly guarded: ReadonlySet<string>
}

/** Looks through an expression for what must not be there, and for what it reads. */
export function analyse(ast: ASTNode): {
  readonly analysis: Analysis
  readonly mistakes: readonly Mistake[]
} {
  const walk = new Walk()
  walk.visit(ast, { scope: new Map(), inLoop: false, guarded: new Set() })
  return { analysis: walk.analysis, mistakes: walk.mistakes }
}

/** A function that must be prepared, with its constant. */
interface Prepared {
  readonly name: string
  readonly text: string
  readonly at: number
}

/** The constants of functions that are prepared, such as patterns. */
export function preparedIn(ast: ASTNode): Prepared[] {
  const found: Prepared[] = []
  const visit = (node: ASTNode): void => {
    if (node.op === 'rcall' || node.op === 'call') {
      const name = node.args[0]
      const first = node.op === 'rcall' ? node.args[2][0] : node.args[1][0]
      if (first?.op === 'value' && typeof first.args === 'string')
        found.push({ name, text: first.args, at: first.start })
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(ast)
  return found
}

class Walk {
  readonly mistakes: Mistake[] = []
  readonly #reads = new Set<Variable>()
  readonly #inPaths = new Set<string>()
  #bareArgument: string | undefined
  #readsClaims = false
  #loops = false
  #perItem: Analysis['perItem'] = 'little'

  get analysis(): Analysis {
    const reads = this.#reads
    return {
      reads,
      kinds: kindsOf(reads),
      isListable: [...reads].every(name => LISTED.has(name)) && !this.#readsClaims,
      bareArgument: this.#bareArgument,
      loops: this.#loops,
      perItem: this.#perItem,
      inPaths: [...this.#inPaths],
    }
  }

  visit(node: ASTNode, place: ExpressionScope): void {
    switch (node.op) {
      case 'id':
        return this.#name(node.args, node, place)
      case 'call':
        return this.#call(node, place)
      case 'rcall':
        return this.#method(node, place)
      case '.':
      case '.?':
        return this.#field(node, place)
      default:
        return this.#operator(node, place)
    }
  }

  #operator(node: ASTNode, place: ExpressionScope): void {
    if (node.op === '[]' || node.op === '[?]') return this.#index(node, place)
    if (node.op === '&&' || node.op === '||') return this.#both(node, place)
    if (node.op === '?:') return this.#choice(node, place)
    if (node.op === 'in') this.#membership(node, place)
    for (const child of childrenOf(node)) this.visit(child, place)
  }

  #name(name: string, node: ASTNode, { scope, inLoop }: ExpressionScope): void {
    if (scope.has(name)) return
    if (!isVariable(name))
      return this.#wrong(node, `there is no variable "${name}"`, suggestName(name, VARIABLES))
    this.#reads.add(name)
    if (!inLoop || this.#perItem === 'args') return
    if (name === 'args') this.#perItem = 'args'
    else if (LONG.has(name)) this.#perItem = 'headers'
  }

  #call(node: Extract<ASTNode, { op: 'call' }>, place: ExpressionScope): void {
    const [name, args] = node.args
    if (name === 'has') return this.#has(args, place)
    if (CONSTANT.has(name)) {
      if (args[0]?.op !== 'value') this.#wrong(node, `${name}() takes a constant`)
    } else if (!FUNCTIONS.has(name)) this.#unknown(name, node)
    for (const arg of args) this.visit(arg, place)
  }

  /** Visits the arguments of `has`: what it asks for may be missing, and so may what is behind it. */
  #has(args: readonly ASTNode[], place: ExpressionScope): void {
    const guarded = new Set([...place.guarded, '*'])
    for (const arg of args) this.visit(arg, { ...place, guarded })
  }

  #method(node: Extract<ASTNode, { op: 'rcall' }>, place: ExpressionScope): void {
    const [name, receiver, args] = node.args
    if (LOOPS.has(name)) return this.#loop(node, place)
    if (!METHODS.has(name)) this.#unknown(name, node)
    const [first] = args
    if (first !== undefined) this.#argument(name, first, place)
    this.visit(receiver, place)
    for (const arg of args) this.visit(arg, place)
  }

  /** The first argument of a method: a constant where it is prepared, and no text to look for that the caller chose. */
  #argument(name: string, first: ASTNode, { scope }: ExpressionScope): void {
    const isText = first.op === 'value' && typeof first.args === 'string'
    if (PREPARED.has(name) && !isText) this.#wrong(first, `${name}() takes a constant pattern`)
    if (CLOCK.includes(name) && !isText) this.#wrong(first, `${name}() takes a constant time zone`)
    if (SEARCHES.has(name) && this.#isSent(first, scope))
      this.#wrong(first, `${name}() must not look for a text that the caller chose`, 'use == or startsWith()')
    if (name === 'within') this.#path(first)
  }

  #loop(node: Extract<ASTNode, { op: 'rcall' }>, place: ExpressionScope): void {
    const [name, receiver, [item, ...body]] = node.args
    this.#loops = true
    if (place.inLoop) this.#wrong(node, `${name}() stands inside another loop`, 'only one loop is allowed')
    if (hasLoop(receiver) && !isFilter(receiver))
      this.#wrong(node, `${name}() goes over what another loop made`, 'only filter() may come before it')
    this.visit(receiver, place)
    if (item?.op !== 'id') return this.#wrong(node, `${name}() wants a name for the item first`)
    if (isVariable(item.args)) return this.#wrong(item, `"${item.args}" is a variable already`)
    const scope = new Map([...place.scope, [item.args, this.#isSent(receiver, place.scope)]])
    for (const part of body) this.visit(part, { ...place, scope, inLoop: true })
  }

  #field(node: Extract<ASTNode, { op: '.' | '.?' }>, place: ExpressionScope): void {
    const [owner, field] = node.args
    this.visit(owner, place)
    this.#member(owner, field, node, place)
  }

  #index(node: Extract<ASTNode, { op: '[]' | '[?]' }>, place: ExpressionScope): void {
    const [owner, index] = node.args
    this.visit(owner, place)
    this.visit(index, place)
    if (owner.op !== 'id' || place.scope.has(owner.args)) return
    if (index.op === 'value' && typeof index.args === 'string') this.#member(owner, index.args, node, place)
    else if (owner.args === 'args') this.#bareArgument ??= '…'
    else if (Object.hasOwn(FIELDS, owner.args)) this.#wrong(node, `${owner.args}[…] takes a constant`)
  }

  #member(owner: ASTNode, field: string, node: ASTNode, place: ExpressionScope): void {
    if (owner.op !== 'id' || place.scope.has(owner.args)) return
    if (owner.args === 'args') return this.#argumentRead(field, node, place)
    if (!Object.hasOwn(FIELDS, owner.args)) return
    const known = Object.keys(FIELDS[owner.args as keyof typeof FIELDS])
    if (!known.includes(field))
      this.#wrong(node, `${owner.args} has no "${field}"`, suggestName(field, known))
    if (owner.args === 'principal' && field === 'claims') this.#readsClaims = true
  }

  #argumentRead(name: string, { op }: ASTNode, { guarded }: ExpressionScope): void {
    const mayLack = op === '.?' || op === '[?]'
    if (!mayLack && !guarded.has('*') && !guarded.has(name)) this.#bareArgument ??= name
  }

  /** Visits both sides. Guards of one side hold on the other: CEL forgives an error where the other side decides. */
  #both(node: Extract<ASTNode, { op: '&&' | '||' }>, place: ExpressionScope): void {
    const [left, right] = node.args
    const isAnd = node.op === '&&'
    this.visit(left, { ...place, guarded: union(place.guarded, guardsOf(right, isAnd)) })
    this.visit(right, { ...place, guarded: union(place.guarded, guardsOf(left, isAnd)) })
  }

  #choice(node: Extract<ASTNode, { op: '?:' }>, place: ExpressionScope): void {
    const [condition, yes, no] = node.args
    this.visit(condition, place)
    this.visit(yes, { ...place, guarded: union(place.guarded, guardsOf(condition, true)) })
    this.visit(no, { ...place, guarded: union(place.guarded, guardsOf(condition, false)) })
  }

  #membership(node: ASTNode, { scope }: ExpressionScope): void {
    const [left, right] = childrenOf(node)
    if (left === undefined || right === undefined) return
    if (this.#isSent(left, scope) && this.#isSent(right, scope))
      this.#wrong(node, '"in" must not look for what the caller chose in what the caller sent')
  }

  /** Tells whether a value may be a part of the arguments. */
  #isSent(node: ASTNode, scope: Scope): boolean {
    if (node.op === 'id') return scope.get(node.args) ?? node.args === 'args'
    return childrenOf(node).some(child => this.#isSent(child, scope))
  }

  #path(node: ASTNode): void {
    if (node.op === '.' && node.args[0].op === 'id' && node.args[0].args === 'principal')
      this.#inPaths.add(node.args[1])
    for (const child of childrenOf(node)) this.#path(child)
  }

  #unknown(name: string, node: ASTNode): void {
    const hint =
      name === 'matches'
        ? 'use re(), which takes time linear in the text'
        : suggestName(name, [...METHODS, ...LOOPS, ...FUNCTIONS])
    this.#wrong(node, `there is no function "${name}" here`, hint)
  }

  #wrong(node: ASTNode, message: string, hint?: string): void {
    this.mistakes.push({ message, hint, at: node.start })
  }
}

function kindsOf(reads: ReadonlySet<Variable>): ReadonlySet<SubjectKind> | undefined {
  const kinds: SubjectKind[] = []
  if (reads.has('tool')) kinds.push('tools')
  if (reads.has('prompt')) kinds.push('prompts')
  if (reads.has('resource')) kinds.push('resources')
  return kinds.length === 0 ? undefined : new Set(kinds)
}

function isVariable(name: string): name is Variable {
  return (VARIABLES as readonly string[]).includes(name)
}

function isFilter(node: ASTNode): boolean {
  return node.op === 'rcall' && node.args[0] === 'filter'
}

function hasLoop(node: ASTNode): boolean {
  return (node.op === 'rcall' && LOOPS.has(node.args[0])) || childrenOf(node).some(hasLoop)
}
