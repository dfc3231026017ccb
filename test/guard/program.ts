import { join } from 'node:path'
import ts from 'typescript'
import { ROOT } from './sources.ts'

/** Compiles `files` as the project's own settings say, without writing anything. */
export function compile(...files: string[]): ts.Program {
  const config = join(ROOT, 'tsconfig.json')
  const { config: raw } = ts.readConfigFile(config, file => ts.sys.readFile(file)) as { config: unknown }
  const { options } = ts.parseJsonConfigFileContent(raw, ts.sys, ROOT)
  return ts.createProgram(
    files.map(file => join(ROOT, file)),
    options,
  )
}

/** All that the compiler says of one file, a line each. */
export function complaints(program: ts.Program, file: string): string[] {
  const source = program.getSourceFile(join(ROOT, file))
  const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
  return diagnostics.map(({ start = 0, messageText }) => {
    const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + 1
    return `${file}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}

/** Every name that a module exports, with what it is. */
export function exportsOf(program: ts.Program, file: string): Map<string, string> {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(join(ROOT, file))
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${file} exports nothing`)
  const names = checker.getExportsOfModule(module).map(symbol => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    return [symbol.name, kindOf(target.flags)] as const
  })
  return new Map(names.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function kindOf(flags: ts.SymbolFlags): string {
  if (flags & ts.SymbolFlags.Class) return 'class'
  if (flags & ts.SymbolFlags.Function) return 'function'
  if (flags & ts.SymbolFlags.Variable) return 'const'
  return flags & ts.SymbolFlags.Interface ? 'interface' : 'type'
}
