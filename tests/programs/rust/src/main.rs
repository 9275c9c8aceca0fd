// SPDX-License-Identifier: Apache-2.0
// The crate `ort` with its feature `directml`: rust_program cpu|dml MODEL; the last line is RESULT and a JSON list.
use ort::ep::{self, ExecutionProvider};
use ort::{session::Session, value::Tensor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let environment = ort::init_from(std::env::var("ORT_DYLIB_PATH")?)?.build()?;
    let mut builder = Session::builder(&environment)?;
    if words[1] == "dml" {
        if !ep::DirectML::is_available()? {
            return Err("DirectML is not available".into());
        }
        builder = builder.with_execution_providers([ep::DirectML::default().with_device_id(0).build().error_on_failure()])
            .map_err(|error| error.to_string())?;
    }
    let mut session = builder.commit_from_file(&words[2])?;
    let pixels: Vec<f32> = (0..3 * 224 * 224).map(|i| (i as f32 / 1000.0).sin()).collect();
    let input = Tensor::from_array(([1usize, 3, 224, 224], pixels))?;
    let outputs = session.run(ort::inputs![input])?;
    let (_, values) = outputs[0].try_extract_tensor::<f32>()?;
    let texts: Vec<String> = values.iter().step_by(97).map(|value| value.to_string()).collect();
    println!("RESULT [{}]", texts.join(","));
    Ok(())
}
