#!/usr/bin/env node
// Old Nodes must be able to read this far, so nothing newer than what Node 18 parses.
import module from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `gateway needs Node.js 22.19 or newer; this is ${process.version} (${process.execPath})\n`,
  )
  process.exitCode = 2
} else {
  module.enableCompileCache()
  const { main } = await import('../dist/src/cli/main.js')
  await main(process.argv.slice(2))
}
