// Runs the CLI from source: npm run dev -- serve --config my/gateway.yaml
import { main } from '../src/cli/main.ts'

await main(process.argv.slice(2))
