import type { ASTNode } from '@marcbachmann/cel-js'
import { suggestName } from '../../src/plugin.ts'
import type { SubjectKind, Variable } from './expression-variables.ts'
import { FIELDS, LISTED, VARIABLES } from './expression-variables.ts'

/** Fields that name a target: a condition on one implies the target's arguments. */
const NAMES: ReadonlySet<string> = new Set([
  'tool.name',
  'tool.original',
  'prompt.name',
  'prompt.original',
  'resource.uri',
  'resource.original',
])

function listChildren(node: ASTNode): ASTNode[] {
  const nodes: ASTNode[] = []
  const addNodes = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(addNodes)
    else if (isNode(value)) nodes.push(value)
  }
  if (node.op !== 'value' && node.op !== 'id') addNodes(node.args)
  return nodes
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value
}

/** An invalid part of an expression with its position. */
export interface Mistake {
  readonly message: string
  readonly hint?: string | undefined
  readonly at?: number | undefined
}

/** Properties of an expression known from its text. */
export interface Analysis {
  readonly reads: ReadonlySet<Variable>
  /** Subject kinds that it applies to; undefined for all. */
  readonly kinds: ReadonlySet<SubjectKind> | undefined
  /** True if its value is the same for all calls of one caller, so that it also applies to lists. */
  readonly isListable: boolean
  /** An argument read without a check that it exists, if any. */
  readonly bareArgument: string | undefined
  /** True if it iterates over items. */
  readonly loops: boolean
  /** Size class of the values that each item is compared with. */
  readonly perItem: 'little' | 'headers' | 'args'
  /** `principal` fields used in paths. */
  readonly inPaths: readonly string[]
}

/** Allowed functions. */
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
/** Functions whose time grows with the product of both text lengths. */
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf'])
/** Functions whose constant argument is prepared when the configuration is loaded. */
const PREPARED: ReadonlySet<string> = new Set(['re', 'glob'])
/** Variables that may contain long texts. */
const LONG: ReadonlySet<string> = new Set(['request', 'principal', 'resource', 'tool'])
const CONSTANT: ReadonlySet<string> = new Set(['timestamp', 'duration'])

/** Loop variables by name; true if their values are part of the arguments. */
type Scope = ReadonlyMap<string, boolean>

interface ExpressionScope {
  readonly scope: Scope
  readonly inLoop: boolean
  /** True inside `has()`, whose argument may be missing. */
  readonly isChecked: boolean
}

/** Finds an expression's properties and mistakes. */
export function analyzeExpression(ast: ASTNode): {
  readonly analysis: Analysis
  readonly mistakes: readonly Mistake[]
} {
  const walk = new ExpressionWalker()
  walk.visit(ast, { scope: new Map(), inLoop: false, isChecked: false })
  return { analysis: walk.analysis, mistakes: walk.mistakes }
}

/** A call of a prepared function with its constant. */
interface PreparedCall {
  readonly name: string
  readonly text: string
  readonly at: number
}

/** Finds constants to prepare, such as patterns. */
export function findConstants(ast: ASTNode): PreparedCall[] {
  const calls: PreparedCall[] = []
  const visitNode = (node: ASTNode): void => {
    if (node.op === 'rcall' || node.op === 'call') {
      const name = node.args[0]
      const first = node.op === 'rcall' ? node.args[2][0] : node.args[1][0]
      if (first?.op === 'value' && typeof first.args === 'string')
        calls.push({ name, text: first.args, at: first.start })
    }
    for (const child of listChildren(node)) visitNode(child)
  }
  visitNode(ast)
  return calls
}

class ExpressionWalker {
  readonly mistakes: Mistake[] = []
  readonly #reads = new Set<Variable>()
  readonly #inPaths = new Set<string>()
  /** Arguments that are read, and those that are checked to exist. */
  readonly #bareArguments = new Set<string>()
  readonly #checkedArguments = new Set<string>()
  #readsName = false
  #readsClaims = false
  #loops = false
  #perItem: Analysis['perItem'] = 'little'

  get analysis(): Analysis {
    const reads = this.#reads
    return {
      reads,
      kinds: listKinds(reads),
      isListable: [...reads].every(name => LISTED.has(name)) && !this.#readsClaims,
      bareArgument: this.#readsName
        ? undefined
        : [...this.#bareArguments].find(name => !this.#checkedArguments.has(name)),
      loops: this.#loops,
      perItem: this.#perItem,
      inPaths: [...this.#inPaths],
    }
  }

  visit(node: ASTNode, context: ExpressionScope): void {
    switch (node.op) {
      case 'id':
        return this.#visitName(node.args, node, context)
      case 'call':
        return this.#visitCall(node, context)
      case 'rcall':
        return this.#visitMethod(node, context)
      case '.':
      case '.?':
        return this.#visitField(node, context)
      default:
        return this.#visitOperator(node, context)
    }
  }

  #visitOperator(node: ASTNode, context: ExpressionScope): void {
    if (node.op === '[]' || node.op === '[?]') return this.#visitIndex(node, context)
    if (node.op === 'in') this.#checkMembership(node, context)
    for (const child of listChildren(node)) this.visit(child, context)
  }

  #visitName(name: string, node: ASTNode, { scope, inLoop }: ExpressionScope): void {
    if (scope.has(name)) return
    if (!isVariable(name)) return this.#addMistake(node, `unknown variable "${name}"`, suggestName(name, VARIABLES))
    this.#reads.add(name)
    if (!inLoop || this.#perItem === 'args') return
    if (name === 'args') this.#perItem = 'args'
    else if (LONG.has(name)) this.#perItem = 'headers'
  }

  #visitCall(node: Extract<ASTNode, { op: 'call' }>, context: ExpressionScope): void {
    const [name, args] = node.args
    if (CONSTANT.has(name)) {
      if (args[0]?.op !== 'value') this.#addMistake(node, `${name}() requires a constant`)
    } else if (!FUNCTIONS.has(name)) this.#reportUnknown(name, node)
    const isChecked = context.isChecked || name === 'has'
    for (const arg of args) this.visit(arg, { ...context, isChecked })
  }

  #visitMethod(node: Extract<ASTNode, { op: 'rcall' }>, context: ExpressionScope): void {
    const [name, receiver, args] = node.args
    if (LOOPS.has(name)) return this.#visitLoop(node, context)
    if (!METHODS.has(name)) this.#reportUnknown(name, node)
    const [first] = args
    if (first !== undefined) this.#checkArgument(name, first, context)
    this.visit(receiver, context)
    for (const arg of args) this.visit(arg, context)
  }

  /**
   * Checks a method's first argument: prepared functions need a constant, and searches must not use a text from the
   * caller.
   */
  #checkArgument(name: string, first: ASTNode, { scope }: ExpressionScope): void {
    const isText = first.op === 'value' && typeof first.args === 'string'
    if (PREPARED.has(name) && !isText) this.#addMistake(first, `${name}() requires a constant pattern`)
    if (CLOCK.includes(name) && !isText) this.#addMistake(first, `${name}() requires a constant time zone`)
    if (SEARCHES.has(name) && this.#isCallerValue(first, scope))
      this.#addMistake(first, `${name}() must not search for a text from the caller`, 'use == or startsWith()')
    if (name === 'within') this.#collectPathFields(first)
  }

  #visitLoop(node: Extract<ASTNode, { op: 'rcall' }>, context: ExpressionScope): void {
    const [name, receiver, [item, ...body]] = node.args
    this.#loops = true
    if (context.inLoop) this.#addMistake(node, `${name}() is inside another loop`, 'only one loop is allowed')
    if (hasLoop(receiver) && !isFilter(receiver))
      this.#addMistake(node, `${name}() iterates over the result of another loop`, 'only filter() may precede it')
    this.visit(receiver, context)
    if (item?.op !== 'id') return this.#addMistake(node, `${name}() requires an item name first`)
    if (isVariable(item.args)) return this.#addMistake(item, `"${item.args}" is already a variable`)
    const scope = new Map([...context.scope, [item.args, this.#isCallerValue(receiver, context.scope)]])
    for (const part of body) this.visit(part, { ...context, scope, inLoop: true })
  }

  #visitField(node: Extract<ASTNode, { op: '.' | '.?' }>, context: ExpressionScope): void {
    const [owner, field] = node.args
    this.visit(owner, context)
    this.#checkMember(owner, field, node, context)
  }

  #visitIndex(node: Extract<ASTNode, { op: '[]' | '[?]' }>, context: ExpressionScope): void {
    const [owner, index] = node.args
    this.visit(owner, context)
    this.visit(index, context)
    if (owner.op !== 'id' || context.scope.has(owner.args)) return
    if (index.op === 'value' && typeof index.args === 'string') this.#checkMember(owner, index.args, node, context)
    else if (owner.args === 'args') this.#bareArguments.add('…')
    else if (Object.hasOwn(FIELDS, owner.args)) this.#addMistake(node, `${owner.args}[…] requires a constant`)
  }

  #checkMember(owner: ASTNode, field: string, node: ASTNode, context: ExpressionScope): void {
    if (owner.op !== 'id' || context.scope.has(owner.args)) return
    if (owner.args === 'args') return this.#noteArgument(field, node, context)
    if (!Object.hasOwn(FIELDS, owner.args)) return
    if (NAMES.has(`${owner.args}.${field}`)) this.#readsName = true
    const fields = Object.keys(FIELDS[owner.args as keyof typeof FIELDS])
    if (!fields.includes(field)) this.#addMistake(node, `${owner.args} has no "${field}"`, suggestName(field, fields))
    if (owner.args === 'principal' && field === 'claims') this.#readsClaims = true
  }

  #noteArgument(name: string, { op }: ASTNode, { isChecked }: ExpressionScope): void {
    if (isChecked) this.#checkedArguments.add(name)
    else if (op === '.' || op === '[]') this.#bareArguments.add(name)
  }

  #checkMembership(node: ASTNode, { scope }: ExpressionScope): void {
    const [left, right] = listChildren(node)
    if (left === undefined || right === undefined) return
    if (left.op === 'value' && right.op === 'id' && right.args === 'args') this.#checkedArguments.add(String(left.args))
    if (this.#isCallerValue(left, scope) && this.#isCallerValue(right, scope))
      this.#addMistake(node, '"in" must not search for a value from the caller in a value from the caller')
  }

  /** Returns true if a value may be part of the arguments. */
  #isCallerValue(node: ASTNode, scope: Scope): boolean {
    if (node.op === 'id') return scope.get(node.args) ?? node.args === 'args'
    return listChildren(node).some(child => this.#isCallerValue(child, scope))
  }

  #collectPathFields(node: ASTNode): void {
    if (node.op === '.' && node.args[0].op === 'id' && node.args[0].args === 'principal')
      this.#inPaths.add(node.args[1])
    for (const child of listChildren(node)) this.#collectPathFields(child)
  }

  #reportUnknown(name: string, node: ASTNode): void {
    const hint =
      name === 'matches' ? 'use re(), which takes linear time' : suggestName(name, [...METHODS, ...LOOPS, ...FUNCTIONS])
    this.#addMistake(node, `unknown function "${name}"`, hint)
  }

  #addMistake(node: ASTNode, message: string, hint?: string): void {
    this.mistakes.push({ message, hint, at: node.start })
  }
}

function listKinds(reads: ReadonlySet<Variable>): ReadonlySet<SubjectKind> | undefined {
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
  return (node.op === 'rcall' && LOOPS.has(node.args[0])) || listChildren(node).some(hasLoop)
}
