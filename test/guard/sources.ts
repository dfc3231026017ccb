import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** One import, export-from or `import()` of a file. */
export interface Import {
  /** A file of the repository, relative to its root, or a package as it was written. */
  readonly to: string
  readonly own: boolean
  /** Gone at run time. */
  readonly typeOnly: boolean
  /** An `import()` that waits until it is needed. */
  readonly lazy: boolean
}

/** One function with its number of code lines, nested functions included. */
export interface FunctionSize {
  readonly name: string
  readonly line: number
  readonly lines: number
}

/** A source file as the guards see it. */
export interface Source {
  readonly file: string
  readonly imports: readonly Import[]
  /** Lines that are neither blank nor comment only. */
  readonly lines: number
  readonly functions: readonly FunctionSize[]
  /** Every `a.b` of two plain names, such as `process.env`. */
  readonly accesses: ReadonlySet<string>
  readonly defaultExport: boolean
}

/** Reads and parses the files that match, without those that are generated. */
export function readSources(...patterns: string[]): Source[] {
  const files = globSync(patterns, { cwd: ROOT }).filter(file => !/\.gen\.|\.test\.ts$|\.d\.ts$/.test(file))
  return files.sort().map(file => readSource(file.replaceAll('\\', '/')))
}

function readSource(file: string): Source {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const source = {
    file,
    imports: new Array<Import>(),
    functions: new Array<FunctionSize>(),
    accesses: new Set<string>(),
    defaultExport: false,
  }
  visit(tree, node => collect(source, node, tree))
  return { ...source, lines: codeLines(tree, tree).size }
}

type Collected = {
  -readonly [K in Exclude<keyof Source, 'lines'>]: Source[K] extends ReadonlySet<infer T>
    ? Set<T>
    : Source[K] extends readonly (infer T)[]
      ? T[]
      : Source[K]
}

function collect(into: Collected, node: ts.Node, tree: ts.SourceFile): void {
  const found = importOf(node)
  if (found !== undefined) into.imports.push(resolveImport(into.file, found))
  const size = sizeOf(node, tree)
  if (size !== undefined) into.functions.push(size)
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
    into.accesses.add(`${node.expression.text}.${node.name.text}`)
  }
  if (isDefaultExport(node)) into.defaultExport = true
}

function sizeOf(node: ts.Node, tree: ts.SourceFile): FunctionSize | undefined {
  if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return undefined
  const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1
  return { name: nameOf(node), line, lines: codeLines(node, tree).size }
}

// `default` is also a word of switch statements.
function isDefaultExport(node: ts.Node): boolean {
  return ts.isExportAssignment(node) || (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent))
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name !== undefined) return node.name.getText()
  const { parent } = node
  return ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name.getText() : 'a function'
}

interface RawImport {
  readonly specifier: string
  readonly typeOnly: boolean
  readonly lazy: boolean
}

function importOf(node: ts.Node): RawImport | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    const { moduleSpecifier } = node
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return undefined
    const typeOnly = ts.isImportDeclaration(node) ? importsTypes(node) : exportsTypes(node)
    return { specifier: moduleSpecifier.text, typeOnly, lazy: false }
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return written(node.argument.literal, true)
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) return undefined
  return written(node.arguments[0], false)
}

function written(node: ts.Node | undefined, typeOnly: boolean): RawImport | undefined {
  return node !== undefined && ts.isStringLiteralLike(node) ? { specifier: node.text, typeOnly, lazy: true } : undefined
}

function importsTypes({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false
  if (importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  const { name, namedBindings } = importClause
  return name === undefined && onlyTypes(namedBindings)
}

function exportsTypes({ isTypeOnly, exportClause }: ts.ExportDeclaration): boolean {
  return isTypeOnly || onlyTypes(exportClause)
}

function onlyTypes(bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined): boolean {
  if (bindings === undefined || !('elements' in bindings)) return false
  return (
    bindings.elements.length > 0 && bindings.elements.every((element: { isTypeOnly: boolean }) => element.isTypeOnly)
  )
}

function resolveImport(from: string, { specifier, ...how }: RawImport): Import {
  if (!specifier.startsWith('.')) return { to: specifier, own: false, ...how }
  return { to: posix.join(posix.dirname(from), specifier), own: true, ...how }
}

/** The lines on which any token of `node` stands. */
function codeLines(node: ts.Node, tree: ts.SourceFile): Set<number> {
  const lines = new Set<number>()
  const add = (token: ts.Node): void => {
    if (ts.isJSDoc(token) || token.kind === ts.SyntaxKind.EndOfFileToken) return
    const children = token.getChildren(tree)
    if (children.length > 0) return children.forEach(add)
    if (token.getWidth(tree) === 0) return
    const first = tree.getLineAndCharacterOfPosition(token.getStart(tree)).line
    const last = tree.getLineAndCharacterOfPosition(token.getEnd()).line
    for (let line = first; line <= last; line++) lines.add(line)
  }
  add(node)
  return lines
}

function visit(node: ts.Node, each: (node: ts.Node) => void): void {
  each(node)
  ts.forEachChild(node, child => visit(child, each))
}
