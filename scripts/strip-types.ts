import ts from 'typescript'

/** Removes types and comments, which would slow parsing. */
export function stripTypes(code: string, fileName: string): string {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    removeComments: true,
  }
  return ts.transpileModule(code, { compilerOptions, fileName }).outputText
}
