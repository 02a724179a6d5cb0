// Times the JavaScript plugin's own compile: the folder of its source is the one argument, the
// compile's input and the number of rounds come as JSON on standard input.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const module = join(process.argv[2], 'packages', 'tavern-loader', 'src', 'profile-loader.js')
const { compileTavernProfile } = await import(pathToFileURL(module).href)
const { input, rounds, warmup } = JSON.parse(readFileSync(0, 'utf8'))
const samples = []
let result
for (let round = -warmup; round < rounds; round += 1) {
  const start = performance.now()
  result = compileTavernProfile(input)
  if (round >= 0) samples.push(performance.now() - start)
}
process.stdout.write(JSON.stringify({ samples, text: result.systemText }))
