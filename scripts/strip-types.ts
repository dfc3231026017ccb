import ts from 'typescript'

/** A source file as JavaScript, without types and comments: whoever loads it reads all of it. */
export function stripTypes(code: string, fileName: string): string {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    removeComments: true,
  }
  return ts.transpileModule(code, { compilerOptions, fileName }).outputText
}
