// Bundles the page of plugins/ui for browsers into a source file that the plugin loads on demand, so that any kind of
// installation includes it.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rollup, type Plugin } from '@rollup/wasm-node'
import { stripTypes } from './strip-types.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PAGE = join(ROOT, 'plugins/ui/page')
const HEADER = '// @ts-nocheck\n// Generated from plugins/ui/page by scripts/page.ts. Do not edit.\n'

/** Writes `plugins/ui/page-files.gen.ts`. */
export async function writePage(): Promise<void> {
  const bundle = await rollup({ input: join(PAGE, 'main.ts'), plugins: [sources()] })
  const { output } = await bundle.generate({ format: 'es', generatedCode: 'es2015' })
  await bundle.close()
  const files = {
    'index.html': pageFile('index.html'),
    'icon.svg': pageFile('icon.svg'),
    'page.css': pageFile('page.css').replaceAll(/\n\s*/g, '\n'),
    'page.js': output[0].code,
  }
  const text = `${HEADER}export const FILES: Readonly<Record<string, string>> = ${JSON.stringify(files)}\n`
  writeFileSync(join(ROOT, 'plugins/ui/page-files.gen.ts'), text)
}

function pageFile(name: string): string {
  return readFileSync(join(PAGE, name), 'utf8')
}

function sources(): Plugin {
  return {
    name: 'sources',
    resolveId(id, importer = '') {
      return id.startsWith('.')
        ? resolve(dirname(importer), id)
        : id.startsWith('/')
          ? id
          : fileURLToPath(import.meta.resolve(id))
    },
    transform: (code, id) => (id.endsWith('.ts') ? { code: stripTypes(code, id), map: null } : null),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writePage()
