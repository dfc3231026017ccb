import ts from 'typescript'

/** One `gatewayError(CODE, { … })`, or that of a plugin, with the fields it is given. */
export interface ThrownError {
  readonly code: string
  readonly at: string
  readonly fields: ReadonlySet<string>
}

/** Every error made with its fields written out; where they are spread from elsewhere, the types of the caller must do. */
export function thrownErrors(texts: ReadonlyMap<string, string>): ThrownError[] {
  return [...texts].flatMap(([file, text]) => {
    const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    const found: ThrownError[] = []
    const visit = (node: ts.Node): void => {
      const thrown = thrownAt(node, tree)
      if (thrown !== undefined) found.push(thrown)
      ts.forEachChild(node, visit)
    }
    visit(tree)
    return found
  })
}

function thrownAt(node: ts.Node, tree: ts.SourceFile): ThrownError | undefined {
  if (!ts.isCallExpression(node) || !/^\w+Error$/.test(node.expression.getText(tree))) return undefined
  const [code, given] = node.arguments
  const fields = given === undefined ? new Set<string>() : keysOf(given)
  if (code === undefined || !ts.isStringLiteralLike(code) || fields === undefined) return undefined
  const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1
  return { code: code.text, at: `${tree.fileName}:${line}`, fields }
}

function keysOf(node: ts.Expression): Set<string> | undefined {
  if (!ts.isObjectLiteralExpression(node) || node.properties.some(ts.isSpreadAssignment)) return undefined
  return new Set(node.properties.map(({ name }) => (name === undefined ? '' : name.getText())))
}
