import type { ASTNode } from '@marcbachmann/cel-js'
import { suggestName } from '../../src/plugin.ts'
import type { SubjectKind, Variable } from './expression-variables.ts'
import { FIELDS, LISTED, VARIABLES } from './expression-variables.ts'

/** Fields that name a target: a condition on one implies the target's arguments. */
const NAMES: ReadonlySet<string> = new Set(
  ['tool.name', 'prompt.name', 'resource.uri', 'skill.name'].flatMap(field => [
    field,
    field.replace(/\w+$/, 'original'),
  ]),
)

/** An invalid part of an expression with its position. */
export interface Mistake {
  readonly message: string
  readonly hint?: string | undefined
  readonly at?: number | undefined
}

/** A call whose constant argument is prepared when the configuration is loaded. */
interface PreparedCall {
  readonly name: string
  readonly text: string
  readonly at: number
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
  /** True if each item is compared with a value that may be long. */
  readonly comparesLong: boolean
  /** `principal` fields used in paths. */
  readonly inPaths: readonly string[]
  readonly constants: readonly PreparedCall[]
}

/** Methods whose argument must be a constant. */
const CLOCK: readonly string[] = [
  ...['getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear', 'getFullYear'],
  ...['getHours', 'getMilliseconds', 'getMinutes', 'getMonth', 'getSeconds'],
]
const CONSTANT: ReadonlySet<string> = new Set(['re', 'glob', 'timestamp', 'duration', ...CLOCK])
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Functions whose time grows with the product of both text lengths. */
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf'])
/** Allowed functions and methods. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...['has', 'size', 'int', 'uint', 'double', 'string', 'bool', 'startsWith', 'endsWith', 'lowerAscii', 'upperAscii'],
  ...['trim', 'substring', 'hasValue', 'orValue', 'or', 'value', 'within', 'host', 'size_bytes'],
  ...[...SEARCHES, ...CONSTANT, ...LOOPS],
])
/** Variables that may contain long texts. */
const LONG: ReadonlySet<string> = new Set(['args', 'request', 'principal', 'resource', 'tool'])

interface Scope {
  /** Loop variable. */
  readonly item?: string
  /** True if the loop variable may belong to the arguments. */
  readonly isCallerItem?: boolean
  /** True inside `has()`, whose argument may be missing. */
  readonly isChecked: boolean
}

/** Finds an expression's properties and mistakes. */
export function analyzeExpression(ast: ASTNode): {
  readonly analysis: Analysis
  readonly mistakes: readonly Mistake[]
} {
  const walk = new ExpressionWalker()
  walk.visit(ast, { isChecked: false })
  return { analysis: walk.analysis, mistakes: walk.mistakes }
}

type MethodCall = Extract<ASTNode, { op: 'rcall' }>
type Member = Extract<ASTNode, { op: '.' | '.?' | '[]' | '[?]' }>

class ExpressionWalker {
  readonly mistakes: Mistake[] = []
  readonly #reads = new Set<Variable>()
  readonly #inPaths = new Set<string>()
  readonly #constants: PreparedCall[] = []
  /** Arguments that are read, and those that are checked to exist. */
  readonly #bareArguments = new Set<string>()
  readonly #checkedArguments = new Set<string>()
  #readsName = false
  #readsClaims = false
  #loops = false
  #comparesLong = false

  get analysis(): Analysis {
    const bareArgument = [...this.#bareArguments].find(name => !this.#checkedArguments.has(name))
    return {
      reads: this.#reads,
      kinds: listKinds(this.#reads),
      isListable: [...this.#reads].every(name => LISTED.has(name)) && !this.#readsClaims,
      bareArgument: this.#readsName ? undefined : bareArgument,
      loops: this.#loops,
      comparesLong: this.#comparesLong,
      inPaths: [...this.#inPaths],
      constants: this.#constants,
    }
  }

  visit(node: ASTNode, scope: Scope): void {
    switch (node.op) {
      case 'id':
        return this.#visitName(node.args, node, scope)
      case 'call':
        this.#checkCall(node, node.args[0], node.args[1][0], scope)
        return this.#visitChildren(node, { ...scope, isChecked: scope.isChecked || node.args[0] === 'has' })
      case 'rcall':
        return this.#visitMethod(node, scope)
      case '.':
      case '.?':
      case '[]':
      case '[?]':
        this.#checkMember(node, scope)
        return this.#visitChildren(node, scope)
      default:
        if (node.op === 'in') this.#checkMembership(node, scope)
        return this.#visitChildren(node, scope)
    }
  }

  #visitChildren(node: ASTNode, scope: Scope): void {
    for (const child of listChildren(node)) this.visit(child, scope)
  }

  #visitName(name: string, node: ASTNode, { item }: Scope): void {
    if (name === item) return
    if (!isVariable(name)) return this.#addMistake(node, `unknown variable "${name}"`, suggestName(name, VARIABLES))
    this.#reads.add(name)
    this.#comparesLong ||= item !== undefined && LONG.has(name)
  }

  /** Checks a function or method, and its first argument. */
  #checkCall(node: ASTNode, name: string, first: ASTNode | undefined, scope: Scope): void {
    if (!FUNCTIONS.has(name)) {
      const hint = name === 'matches' ? 'use re(), which takes linear time' : suggestName(name, [...FUNCTIONS])
      return this.#addMistake(node, `unknown function "${name}"`, hint)
    }
    if (first === undefined) return
    if (CONSTANT.has(name)) {
      if (first.op !== 'value' || typeof first.args !== 'string')
        this.#addMistake(first, `${name}() requires a constant`)
      else this.#constants.push({ name, text: first.args, at: first.start })
    }
    if (SEARCHES.has(name) && isCallerValue(first, scope))
      this.#addMistake(first, `${name}() must not search for a text from the caller`, 'use == or startsWith()')
    if (name === 'within') this.#collectPathFields(first)
  }

  #visitMethod(node: MethodCall, scope: Scope): void {
    const [name, receiver, [item, ...body]] = node.args
    this.#checkCall(node, name, item, scope)
    if (!LOOPS.has(name)) return this.#visitChildren(node, scope)
    this.#loops = true
    if (scope.item !== undefined || (hasLoop(receiver) && !isFilter(receiver)))
      this.#addMistake(node, `${name}() iterates over another loop`, 'only filter() may precede a loop')
    this.visit(receiver, scope)
    if (item?.op !== 'id') return this.#addMistake(node, `${name}() requires an item name first`)
    if (isVariable(item.args)) return this.#addMistake(item, `"${item.args}" is already a variable`)
    const inner = { ...scope, item: item.args, isCallerItem: isCallerValue(receiver, scope) }
    for (const part of body) this.visit(part, inner)
  }

  #checkMember(node: Member, scope: Scope): void {
    const [owner, key] = node.args
    if (owner.op !== 'id' || owner.args === scope.item) return
    const constant = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined
    const field = typeof constant === 'string' ? constant : undefined
    if (owner.args === 'args') this.#noteArgument(field ?? '…', node, scope)
    else if (Object.hasOwn(FIELDS, owner.args)) this.#checkField(owner.args as keyof typeof FIELDS, field, node)
  }

  #noteArgument(name: string, { op }: ASTNode, { isChecked }: Scope): void {
    if (isChecked) this.#checkedArguments.add(name)
    else if (op === '.' || op === '[]') this.#bareArguments.add(name)
  }

  #checkField(owner: keyof typeof FIELDS, field: string | undefined, node: ASTNode): void {
    if (field === undefined) return this.#addMistake(node, `${owner}[…] requires a constant`)
    const fields = Object.keys(FIELDS[owner])
    if (!fields.includes(field)) this.#addMistake(node, `${owner} has no "${field}"`, suggestName(field, fields))
    this.#readsName ||= NAMES.has(`${owner}.${field}`)
    this.#readsClaims ||= owner === 'principal' && field === 'claims'
  }

  #checkMembership(node: ASTNode, scope: Scope): void {
    const [left, right] = listChildren(node)
    if (left === undefined || right === undefined) return
    if (left.op === 'value' && right.op === 'id' && right.args === 'args') this.#checkedArguments.add(String(left.args))
    if (isCallerValue(left, scope) && isCallerValue(right, scope))
      this.#addMistake(node, '"in" must not search for a value from the caller in a value from the caller')
  }

  #collectPathFields(node: ASTNode): void {
    if (node.op === '.' && node.args[0].op === 'id' && node.args[0].args === 'principal')
      this.#inPaths.add(node.args[1])
    for (const child of listChildren(node)) this.#collectPathFields(child)
  }

  #addMistake(node: ASTNode, message: string, hint?: string): void {
    this.mistakes.push({ message, hint, at: node.start })
  }
}

function listChildren(node: ASTNode): ASTNode[] {
  return node.op === 'value' || node.op === 'id' ? [] : [node.args].flat(3).filter(isNode)
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value
}

/** Returns true if a value may belong to the arguments. */
function isCallerValue(node: ASTNode, scope: Scope): boolean {
  if (node.op === 'id') return node.args === scope.item ? scope.isCallerItem === true : node.args === 'args'
  return listChildren(node).some(child => isCallerValue(child, scope))
}

function listKinds(reads: ReadonlySet<Variable>): ReadonlySet<SubjectKind> | undefined {
  const kinds = (['tool', 'prompt', 'resource', 'skill'] as const)
    .filter(name => reads.has(name))
    .map(name => `${name}s` as const)
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
