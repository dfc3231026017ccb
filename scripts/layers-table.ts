import { CONTRACT, PARTS } from '../test/guard/layers.ts'

const BLOCK = /<!-- layers -->[\s\S]*?<!-- \/layers -->/

/** Updates the layer list in a document from `test/architecture.test.ts`. */
export function withLayers(document: string): string {
  return document.replace(BLOCK, () => `<!-- layers -->\n\n${listParts()}\n\n<!-- /layers -->`)
}

function listParts(): string {
  return PARTS.map(({ path, holds, may }) => `- \`${folder(path)}\`: ${holds} ← ${listImports(may)}`).join('\n')
}

/** Groups common layers under one name. */
function listImports(may: readonly string[]): string {
  if (may.length === 0) return 'nothing'
  const names = new Set(may)
  const isAll = CONTRACT.every(part => names.has(part))
  if (isAll) for (const part of CONTRACT) names.delete(part)
  return [...(isAll ? ['contract'] : []), ...names].join(', ')
}

function folder({ source }: RegExp): string {
  return source
    .replace(/^\^|\$$|\\\/$/g, '')
    .replaceAll(/\\(.)/g, '$1')
    .replace('(gateway/|index.ts$)', 'gateway')
}
